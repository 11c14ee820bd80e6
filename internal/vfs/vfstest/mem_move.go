package vfstest

import (
	"os"
	"strings"
	"syscall"
)

// Rename implements FS.
func (m *Mem) Rename(oldname, newname string) error {
	return m.move(OpRename, oldname, newname, true)
}

// RenameNoReplace implements FS.
func (m *Mem) RenameNoReplace(oldname, newname string) error {
	return m.move(OpRenameNoReplace, oldname, newname, false)
}

// Exchange implements FS.
func (m *Mem) Exchange(a, b string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	from, to, err := m.pair(a, b)
	if err == nil && (to.to == nil || within(a, b) || within(b, a)) {
		err = syscall.EINVAL
		if to.to == nil {
			err = syscall.ENOENT
		}
	}
	if err != nil {
		return &os.LinkError{Op: OpExchange.String(), Old: a, New: b, Err: err}
	}
	m.apply(outcomesAtomic, edit{to.dir, to.name, from.to}, edit{from.dir, from.name, to.to})
	m.done(Call{Op: OpExchange, Name: a, To: b})
	return nil
}

// Link implements FS.
func (m *Mem) Link(oldname, newname string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	from, to, err := m.pair(oldname, newname)
	switch {
	case err != nil:
	case from.to.dir:
		err = syscall.EPERM
	case to.to != nil:
		err = syscall.EEXIST
	}
	if err != nil {
		return &os.LinkError{Op: OpLink.String(), Old: oldname, New: newname, Err: err}
	}
	m.apply(outcomesOne, edit{to.dir, to.name, from.to})
	m.done(Call{Op: OpLink, Name: oldname, To: newname})
	return nil
}

func (m *Mem) move(op Op, oldname, newname string, replace bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	from, to, err := m.pair(oldname, newname)
	if err == nil {
		err = checkMove(from.to, to.to, replace)
	}
	if err == nil && from.to.dir && within(newname, oldname) && clean(newname) != clean(oldname) {
		err = syscall.EINVAL
	}
	if err != nil {
		return &os.LinkError{Op: op.String(), Old: oldname, New: newname, Err: err}
	}
	if from.to != to.to {
		outcomes := outcomesFileMove
		if from.to.dir {
			outcomes = outcomesDirMove
		}
		m.apply(outcomes, edit{to.dir, to.name, from.to}, edit{from.dir, from.name, nil})
	}
	m.done(Call{Op: op, Name: oldname, To: newname})
	return nil
}

// pair finds an existing name and a second one that need not exist.
func (m *Mem) pair(oldname, newname string) (from, to edit, err error) {
	if from.dir, from.name, err = m.parent(clean(oldname)); err != nil {
		return
	}
	if from.to = from.dir.entries[from.name]; from.to == nil {
		return from, to, syscall.ENOENT
	}
	if to.dir, to.name, err = m.parent(clean(newname)); err != nil {
		return
	}
	to.to = to.dir.entries[to.name]
	return
}

func checkMove(from, to *node, replace bool) error {
	switch {
	case to == nil:
		return nil
	case !replace:
		return syscall.EEXIST
	case from == to:
		return nil
	case to.dir && !from.dir:
		return syscall.EISDIR
	case !to.dir && from.dir:
		return syscall.ENOTDIR
	case to.dir && len(to.entries) > 0:
		return syscall.ENOTEMPTY
	}
	return nil
}

// within reports whether name is dir or lies below it.
func within(name, dir string) bool {
	name, dir = clean(name), clean(dir)
	return name == dir || strings.HasPrefix(name, strings.TrimSuffix(dir, "/")+"/")
}
