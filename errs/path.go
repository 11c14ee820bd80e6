package errs

import "strings"

// CheckPath returns an error for a path that people and shells do not read as a file: the URL of
// another store ("gs://bucket/run", "file:///run") or a home directory ("~/run"). The file system
// would make directories of these names.
func CheckPath(path string) error {
	e := &Error{Kind: Unsupported, Op: "path", Subject: path, Want: "a path of the local file system"}
	if scheme, _, ok := strings.Cut(path, ":/"); ok && isScheme(scheme) {
		e.Got, e.Remedy = "a URL of scheme "+scheme, "give a store.Store for another storage; ./"+path+" is a directory of that name"
		if scheme == "file" {
			e.Remedy = "give the path without file://"
		}
		return e
	}
	if strings.HasPrefix(path, "~") {
		e.Got, e.Remedy = "a ~, which only a shell makes a home directory of", "give the whole path; ./"+path+" is a directory of that name"
		return e
	}
	return nil
}

// isScheme reports whether s may be the scheme of a URL. One letter is a drive.
func isScheme(s string) bool {
	if len(s) < 2 || s[0]|0x20 < 'a' || s[0]|0x20 > 'z' {
		return false
	}
	return strings.Trim(strings.ToLower(s), "abcdefghijklmnopqrstuvwxyz0123456789+.-") == ""
}
