"""How numbers look: tables, figures and pages. It opens no run and computes nothing of a run."""
