package dynamic

import (
	"fmt"
	"runtime"
	"strings"
)

// site is where a call was made: the innermost program counters.
type site [8]uintptr

// capture makes s the place of who called the caller, skip frames further out. What belongs to
// dynamic mode is left out by String, so skip need not be exact.
func (s *site) capture(skip int) {
	n := runtime.Callers(skip+2, s[:])
	clear(s[n:])
}

// own is the import path of this package and, with a slash, of those below it.
const own = "github.com/bivouac-ml/bivouac/dynamic"

// String returns file and line of the first frame outside of dynamic mode, or "" when nothing was captured.
func (s *site) String() string {
	n := 0
	for n < len(s) && s[n] != 0 {
		n++
	}
	if n == 0 {
		return ""
	}
	frames := runtime.CallersFrames(s[:n])
	for {
		f, more := frames.Next()
		inside := strings.HasPrefix(f.Function, own+".") || strings.HasPrefix(f.Function, own+"/")
		if !inside || strings.HasSuffix(f.File, "_test.go") || !more {
			return fmt.Sprintf("%s:%d", f.File, f.Line)
		}
	}
}
