"""`brain index --json` names what is only provisional, and is as before where nothing is."""

from tests.integration.evolve.gate.test_provisional_life import SKILL, make_live


def test_index_names_it_in_its_data_alone(tmp_path, cli):
    with make_live(tmp_path) as brain:
        shown = cli("-C", str(tmp_path), "index", "--json").document
        assert shown["provisional"] == [SKILL] and "provisional" not in shown["index"]
        assert "provisional" not in cli("-C", str(tmp_path), "index").out
        assert "  provisional: Try it" in cli("-C", str(tmp_path), "log").out
        assert "1 provisional change of skills: " in cli("-C", str(tmp_path), "status").out
        brain.skills.upsert(SKILL, "# Greet\n\nWave.\n")
        assert cli("-C", str(tmp_path), "status", "--json").document["waiting"] == []
        assert not cli("-C", str(tmp_path), "index", "--json").document["provisional"]
