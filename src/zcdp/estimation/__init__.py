"""From reports to estimates: support probabilities, counts, histograms with exact intervals. Imports no mechanism."""
