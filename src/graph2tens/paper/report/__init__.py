"""From records of runs to a page one can look at.

Files, in reading order: ``data`` groups records into cells beside the paper's numbers; ``departures``, ``rivals``, ``authors_runs`` and
``held_out`` compare further; ``naming`` and ``sentences`` say it in words; ``html/``, ``markdown/`` and ``as_json`` are its three forms.
"""
