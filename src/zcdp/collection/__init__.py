"""Collection under local differential privacy: choose a design for a budget, randomize values, count reports."""
