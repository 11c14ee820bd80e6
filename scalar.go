package bivouac

// Scalar records a number of the current step, such as "loss", "lr" or "gradient norm". Call it in
// the loop body of Steps. The last value of a step counts. The value may be NaN or infinite.
//
// The journal of the run, RUN/journal, has the scalars of each step; package journal reads it, and
// so do the commands bivouac show and bivouac plot. The rows of a step are durable when the step is
// committed. What a killed attempt recorded beyond the step from which the next one continued is
// superseded, and stays in the journal as an attempt.
//
// The job adds scalars of its own to each step:
//
//	job/seconds             from the end of the step before to the end of this one
//	job/data_seconds        how much of it the job waited for the batch
//	job/blocked_seconds     how much of it a save stopped the trainer; only if it did
//	job/samples_per_second  if Options.BatchSize is set
//	job/nonfinite           how many scalars of the step are NaN or infinite; only if there are any
//
// Scalar never waits and never fails. If the journal cannot be written, OnEvent is told as
// JournalFailed, and Close returns the error. So it is for a name that is empty or longer than 200
// bytes, and for more than 1000 names. Scalars that are recorded outside a loop body belong to the
// next step. If several processes make one checkpoint, only the primary records.
func (j *Job[B]) Scalar(name string, value float64) { j.story.scalar(name, value) }

// Scalars records several numbers of the current step; see Scalar.
func (j *Job[B]) Scalars(values map[string]float64) {
	for name, value := range values {
		j.story.scalar(name, value)
	}
}
