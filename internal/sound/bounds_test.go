package sound

import "testing"

// Elements beyond the lobes of a filter are not looked up: the assembly would read past the table.
func TestWeighStaysInTheTable(t *testing.T) {
	f, err := NewFilter(50)
	if err != nil {
		t.Fatal(err)
	}
	in := make([]float32, (f.lobes+4)/4*4)
	defer func() {
		if recover() == nil {
			t.Error("a place beyond the table was looked up")
		}
	}()
	weigh(in, f, float32(f.lobes+1-len(in))+1) // the last is one past the lobes
}
