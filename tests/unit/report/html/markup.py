"""Reads a page with the standard library: its elements, their attributes and their text."""

from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "path", "circle", "use"}


class Element:
    """An element; ``text`` is all text inside it, its children's too."""

    def __init__(self, tag, attributes, parents):
        self.tag, self.attributes, self.parents, self.text = tag, attributes, parents, ""

    def __getitem__(self, name):
        return self.attributes[name]

    def has_class(self, name):
        return name in (self.attributes.get("class") or "").split()


class Markup(HTMLParser):
    """The elements of a page in their order; a tag that is not closed as it should be raises."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self._open = [], []
        self.feed(text)
        self.close()
        assert not self._open, f"never closed: {[one.tag for one in self._open]}"

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute twice: {tag} {attrs}"
        element = Element(tag, dict(attrs), tuple(self._open))
        self.elements.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_startendtag(self, tag, attrs):
        self.elements.append(Element(tag, dict(attrs), tuple(self._open)))

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        assert self._open, f"closed and never opened: {tag}"
        last = self._open.pop()
        assert last.tag == tag, f"{last.tag} {last.attributes} is closed by {tag}"

    def handle_data(self, data):
        for element in self._open:
            element.text += data

    def all(self, tag=None, *, of=None, **attributes):
        """Return elements by tag, by class (``of``) and by attributes."""
        return [
            one
            for one in self.elements
            if tag in (None, one.tag)
            and (of is None or one.has_class(of))
            and all(one.attributes.get(key) == value for key, value in attributes.items())
        ]

    def one(self, tag=None, **wanted):
        found = self.all(tag, **wanted)
        assert len(found) == 1, f"{len(found)} of {tag} {wanted}"
        return found[0]

    def inside(self, outer, tag=None, **wanted):
        return [one for one in self.all(tag, **wanted) if outer in one.parents]


def words(text):
    """Return text with its white space evened out."""
    return " ".join(text.split())
