"""Opening a brain: the session, its manifest, finding its folder."""
