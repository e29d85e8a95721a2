"""Generation of a copy's rows: recipe, schedule, release."""
