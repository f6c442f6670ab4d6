"""From records of runs to a page one can look at: data, statistics, words, HTML, Markdown."""
