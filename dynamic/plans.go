package dynamic

// plans are those that were used last.
type plans struct {
	byHash         map[uint64]*plan
	newest, oldest *plan
	count          int
}

// mostPlans bounds the plans of an EvalContext.
const mostPlans = 256

// find returns the plan for calls like k, or nil.
func (l *plans) find(e *EvalContext, k *call) *plan {
	if p := k.operator.last; p != nil && p.fits(k) {
		l.use(p)
		return p
	}
	for p := l.byHash[k.hash(e)]; p != nil; p = p.next {
		if p.fits(k) {
			l.use(p)
			k.operator.last = p
			return p
		}
	}
	return nil
}

// use makes p the newest.
func (l *plans) use(p *plan) {
	if l.newest == p {
		return
	}
	l.unlink(p)
	l.push(p)
}

func (l *plans) push(p *plan) {
	if p.older = l.newest; p.older != nil {
		p.older.newer = p
	} else {
		l.oldest = p
	}
	l.newest = p
}

func (l *plans) unlink(p *plan) {
	if p.newer != nil {
		p.newer.older = p.older
	} else {
		l.newest = p.older
	}
	if p.older != nil {
		p.older.newer = p.newer
	} else {
		l.oldest = p.newer
	}
	p.newer, p.older = nil, nil
}

// add keeps a plan, in place of the one that was not used for longest when there are too many.
func (l *plans) add(p *plan) {
	if l.byHash == nil {
		l.byHash = map[uint64]*plan{}
	}
	p.next = l.byHash[p.hash]
	l.byHash[p.hash] = p
	l.push(p)
	if l.count++; l.count > mostPlans {
		l.drop(l.oldest)
	}
}

// drop forgets a plan; who runs it goes on.
func (l *plans) drop(p *plan) {
	p.operator.last = nil
	l.unlink(p)
	l.count--
	if first := l.byHash[p.hash]; first != p {
		for first.next != p {
			first = first.next
		}
		first.next = p.next
	} else if p.next == nil {
		delete(l.byHash, p.hash)
	} else {
		l.byHash[p.hash] = p.next
	}
}
