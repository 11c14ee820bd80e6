// Package tfevents writes the records of event files, which TensorBoard shows.
//
// An event file is a TFRecord file (package tfrecord). Each record is a message tensorflow.Event of
// Protocol Buffers:
//
//	double     wall_time    = 1   seconds since 1970
//	int64      step         = 2
//	string     file_version = 3   of the first record: "brain.Event:2"
//	Summary    summary      = 5   values of a step
//	SessionLog session_log  = 7   a program starts
//
// TensorBoard reads the files of a directory in the order of their names, and shows the scalars of
// all of them as one run. A program that was killed may have written steps that the next program
// does again. The next program writes a new file, which begins with a start and a purge step.
// TensorBoard then drops the values that it has read from this step on.
package tfevents
