const FACTOR = TWO;
