// Package tensorboard writes the scalars of a journal as event files, which TensorBoard shows.
//
// Each attempt has a file of its own, whose name has the number of the attempt:
//
//	events.out.tfevents.000003-01790000000-5f2a9c1e00b7d431.job
//	                    attempt time       id of the attempt
//
// The file begins with a start and a purge step: the step after the one from which the attempt
// continued. So TensorBoard drops what an earlier attempt did beyond that step, as it does for
// restarts of TensorFlow. A file of a killed attempt stays as it is.
//
// A [Writer] writes the file of an attempt while it runs. [Export] writes the files of all attempts
// of a journal. Both write the same bytes, except for rows that the journal lacks.
//
// The journal is the truth: event files have float32, only the scalars of steps, and no checksum of
// the whole. They are not synced to the disk. If they are lost, Export writes them anew.
package tensorboard
