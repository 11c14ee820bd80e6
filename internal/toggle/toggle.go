// Package toggle has an option with three states: true, false, and not set.
package toggle

import "github.com/bivouac-ml/bivouac/internal/enum"

// Toggle is a bool that may be not set. In text it is true or false.
type Toggle uint8

// The toggles.
const (
	Default Toggle = iota // not set
	On
	Off
)

// String returns "inherit", "true" or "false".
func (t Toggle) String() string {
	return enum.Name(t, []string{"inherit", "true", "false"}, "toggle %d")
}

// IsOn reports whether t is On.
func (t Toggle) IsOn() bool { return t == On }

// Or returns true for On, false for Off, and open for Default.
func (t Toggle) Or(open bool) bool { return t == On || t == Default && open }

// Of returns On for true and Off for false.
func Of(on bool) Toggle {
	if on {
		return On
	}
	return Off
}
