"""Pages about finished runs: statistics, words, tables, pictures, and the page about runs of one's own data."""
