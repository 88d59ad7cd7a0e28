"""Taking out of texts and records what names people, machines and keys, before they are sent."""
