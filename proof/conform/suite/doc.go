// Package suite has what the suites of package conform share: a Case and what it reports, and an
// Object, which reads an expectation and refuses members that nobody looked at.
package suite
