package writer

import "time"

// Mode says how the caller's memory is used.
type Mode uint8

// The modes.
const (
	Copy     Mode = iota // copied while the caller waits; if the budget forbids that, read by Write while the caller waits
	InPlace              // read by Write; the caller waits for that
	HandOver             // read by Write; the caller waits for Options.OnRelease before changing it
)

// Snapshot copies the arrays that the mode asks for: all arrays, the ones that Options.Copied
// names, or none. When it returns, the caller may change the copied arrays. It is called once,
// after Plan and before Write.
func (w *Writer) Snapshot() error {
	var err error
	switch {
	case w.mode == HandOver:
		err = w.handOver()
	case w.mode == Copy && w.fits(w.opts.Budget):
		err = w.copyArrays(w.opts.Memory)
	}
	if err == nil {
		w.status.apart(w, func(a *array) bool { return w.stats.Copied && w.copied(a) })
	}
	return err
}

// handOver copies the arrays that Options.Copied names, and leaves the others to Write.
func (w *Writer) handOver() error {
	if w.opts.Watch {
		w.watch()
	}
	if w.snapshotSize() > 0 && w.opts.Copied != nil {
		memory := w.opts.Memory
		if !w.fits(w.opts.Budget) {
			memory = Heap{} // named arrays are copied in any case
		}
		if err := w.copyArrays(memory); err != nil {
			return err
		}
	}
	w.stats.Blocked = time.Since(w.start)
	return nil
}

// WaitCopied returns when the caller may change the arrays in mode Copy, while Write runs in the
// background. It returns at once, unless a copy would have exceeded the budget.
func (w *Writer) WaitCopied() {
	if w.mode == Copy {
		<-w.released
	}
}
