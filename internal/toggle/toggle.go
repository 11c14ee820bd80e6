// Package toggle has the one option with three states: a bool that can be left open.
package toggle

import "github.com/bivouac-ml/bivouac/internal/enum"

// Toggle is a bool that can be left open. In text it is true or false.
type Toggle uint8

// The toggles.
const (
	Default Toggle = iota // left open
	On
	Off
)

// String returns "inherit", "true" or "false".
func (t Toggle) String() string {
	return enum.Name(t, []string{"inherit", "true", "false"}, "toggle %d")
}

// IsOn reports whether t is On.
func (t Toggle) IsOn() bool { return t == On }

// Or reports whether t is On, and returns open when t is Default.
func (t Toggle) Or(open bool) bool { return t == On || t == Default && open }

// Of returns On for true and Off for false.
func Of(on bool) Toggle {
	if on {
		return On
	}
	return Off
}
