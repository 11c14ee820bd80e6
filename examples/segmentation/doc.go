// Segmentation is a program that trains on pictures with masks, on scenes that are made. It learns
// the mean colour of each class, and draws a sheet: crops, their masks, and what it says of them.
//
//	go run ./examples/segmentation -out sheet.png
//
// A scene has polygons. The pipeline chooses those that are labelled (segmentation.select_masks),
// draws them as a mask (segmentation.fill_polygons), turns picture and mask together (spatial), and
// cuts both around a drawn pixel of an object (segmentation.random_mask_pixel, slice).
package main
