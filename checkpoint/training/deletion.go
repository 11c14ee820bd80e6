package training

// Deletion is how steps go that the preservation policy or Delete gives up. The
// zero value removes them, those of the policy in the background after the commit.
type Deletion struct {
	// Foreground has a save end only when what it makes superfluous is removed, and
	// with the failure of that.
	Foreground bool
}
