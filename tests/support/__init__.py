"""What the black-box tests share: people, worlds, runs and verdicts."""
