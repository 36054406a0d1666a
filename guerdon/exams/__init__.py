"""What is measured on held-out things: metrics for an `Exam`, each a part that is called with a `Sitting`."""
