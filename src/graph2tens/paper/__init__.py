"""What exists because of the paper: its tables as data, the published numbers, `reproduce`, and the report.

Files, in reading order: ``protocols`` are the settings of the text and of the authors' code, ``authors`` their layers, ``variants`` runs
with one thing changed, ``rivals/`` the other systems; ``tables`` lists the rows and their runs, ``splits`` and ``sanitise`` divide the
data, ``reproduce`` does the runs. ``published`` has the paper's numbers, and ``report/`` lays ours beside them.
"""
