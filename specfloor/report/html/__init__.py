"""A run as one page that needs nothing else: no network, no other file, no server.

Data flows one way here too: :mod:`page` turns judgements and records into the frozen structs of
:mod:`model`, which hold what is said and the numbers to draw; :mod:`svg` draws them; :mod:`render`
fills the template. What experiments say of a cell comes in through :data:`panels.SOURCES`.
"""
