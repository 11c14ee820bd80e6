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
// of a journal. Both write the same records, but Export leaves superseded rows out.
//
// The data server of TensorBoard, which its page uses by default, does not know starts. It drops
// the values of a scalar when a lower or equal step of this scalar comes. So a scalar that is not
// recorded at each step may show superseded values in the files of a job. An export has none, and
// tensorboard --load_fast=false shows none.
//
// The journal is the truth: event files have float32, only the scalars of steps, and no checksum of
// the whole. They are not synced to the disk. If they are lost, Export writes them anew.
package tensorboard
