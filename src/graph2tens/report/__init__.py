"""Pages about finished runs: statistics, words, tables, pictures, and the page about the user's own runs.

Files, in reading order: ``statistics`` and ``words``; ``markup``, ``tables``, ``charts`` and ``layout`` are what pages are built of;
``own/``.
"""
