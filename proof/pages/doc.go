// Package pages holds no code, only tests. They compare the pages of this repository with the code,
// with its examples, and with the lists of names of other systems.
package pages
