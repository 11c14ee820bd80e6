// Augment is a program that draws a contact sheet of RandAugment: a row for each magnitude, a
// column for each sample.
//
//	go run ./examples/augment -out sheet.png
//	go run ./examples/augment -out sheet.png -pixels truncated     pixels as Pillow computes them
//
// All pictures of a column are one picture, with the augmentations that its place in the stream
// draws. So a column has the same augmentations in every row, and more of them further down.
package main
