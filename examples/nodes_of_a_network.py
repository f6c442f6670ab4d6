"""Who follows whom after the split of a karate club? Two nodes are known, the others have nothing but their place in the network."""

from __future__ import annotations

import networkx as nx

from graph2tens.sklearn import GraphTensNodeClassifier


def main() -> None:
    club = nx.karate_club_graph()
    sides = nx.get_node_attributes(club, "club")
    for node in club:
        del club.nodes[node]["club"]  # the answer is no attribute to learn from
    classifier = GraphTensNodeClassifier(random_state=0).fit(club, {0: "Mr. Hi", 33: "Officer"})
    found = classifier.predict(by_name=True)
    wrong = [node for node in club if found[node] != sides[node]]
    print(f"{len(club) - len(wrong)} of {len(club)} members found on the side they chose; wrong: {wrong}")


if __name__ == "__main__":
    main()
