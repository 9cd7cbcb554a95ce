"""langdetect in a plain loop: pure Python, and no model of any framework."""
import time

import langdetect

import clock

langdetect.DetectorFactory.seed = 0
TEXTS = [
    "The weather in the mountains changes quickly, so take warm clothes with you.",
    "Der Zug nach Hamburg hat heute zwanzig Minuten Verspätung wegen eines Signals.",
    "Le conseil municipal a voté hier soir le budget de la nouvelle bibliothèque.",
    "El equipo perdió el partido en los últimos minutos por un error del portero.",
    "La ricetta della nonna richiede farina, uova fresche e molta pazienza.",
    "De vergadering is verplaatst naar donderdag omdat de zaal bezet was.",
]


def main():
    found, took = {}, []
    for number in range(1800):
        begin = time.perf_counter()
        language = langdetect.detect(TEXTS[number % len(TEXTS)] * 2)
        found[language] = found.get(language, 0) + 1
        took.append(time.perf_counter() - begin)
    clock.write("text", took)
    print(found)


main()
