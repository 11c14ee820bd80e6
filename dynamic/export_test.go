package dynamic

// ParsePlace is parsePlace.
var ParsePlace = parsePlace

// Joints returns how many graphs of several calls the context keeps, and how many frames they have.
func (e *EvalContext) Joints() (graphs, frames int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, p := range e.joints {
		if p.broken {
			continue
		}
		graphs++
		for _, f := range p.frames {
			if f != nil {
				frames++
			}
		}
	}
	return graphs, frames
}

// Computed reports whether the value is computed.
func Computed(v Value) bool {
	c := v.core().origin()
	return c == nil || c.finished()
}
