package raster

// Paint draws panels without encoding them.
var Paint = paint
