"""Pages about finished runs: statistics, words, tables, pictures, and the page about the user's own runs."""
