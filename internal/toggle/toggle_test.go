package toggle

import "testing"

func TestToggle(t *testing.T) {
	for _, c := range []struct {
		t               Toggle
		text            string
		on, orOn, orOff bool
	}{
		{Default, "inherit", false, true, false},
		{On, "true", true, true, true},
		{Off, "false", false, false, false},
		{7, "toggle 7", false, false, false},
	} {
		if c.t.String() != c.text || c.t.IsOn() != c.on || c.t.Or(true) != c.orOn || c.t.Or(false) != c.orOff {
			t.Errorf("%d: %s, IsOn %v, Or(true) %v, Or(false) %v", c.t, c.t, c.t.IsOn(), c.t.Or(true), c.t.Or(false))
		}
	}
	if Of(true) != On || Of(false) != Off {
		t.Error("Of")
	}
}
