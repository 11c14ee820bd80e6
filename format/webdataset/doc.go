// Package webdataset finds the samples of WebDataset archives and reads and writes the indexes that
// DALI takes.
//
// A sample is a run of files of a tar archive whose names are equal up to a dot. The rest of a name
// says which component of the sample the file is:
//
//	train/000017.jpg    key train/000017, component jpg
//	train/000017.cls    key train/000017, component cls
//	train/000018.jpg    the next sample
//
// Programs differ in details, see [Rules]. An index is text, a line for each sample:
//
//	v1.2 2
//	jpg 512 9713 train/000017.jpg cls 10752 2 train/000017.cls
//	jpg 12288 8801 train/000018.jpg
//
// The fields of a component are its name, the offset and the size of its data, and, since v1.2, the
// name of the file.
package webdataset
