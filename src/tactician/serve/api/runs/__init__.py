"""Operations on runs: started, listed, looked into, answered, followed and ended."""
