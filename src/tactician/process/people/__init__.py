"""People who are asked by actions: forms, questions and answers."""
