package dynamic

// ParsePlace is parsePlace.
var ParsePlace = parsePlace
