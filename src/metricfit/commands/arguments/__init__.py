"""Arguments that several commands share: how they are declared, and what is made of them."""
