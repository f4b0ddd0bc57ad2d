"""Plans: places for the tasks of one job, with capacity made by evictions where it is needed."""
