"""What is declared of published tables, before any data is read; sensitivities are derived here and nowhere else."""
