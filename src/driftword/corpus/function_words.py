"""Words that hold sentences together, by language, and words for numbers.

Such words change with style and grammar rather than with meaning; a list of words that changed is of little use when
they lead it. Closed classes only: articles, pronouns, prepositions, conjunctions, auxiliaries, and adverbs of degree,
time and place.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

#: Share of a language's words that must be among the most frequent ones of a corpus for its list to be used.
_LEAST_SHARE: Final = 0.5
_MOST_FREQUENT: Final = 300
_COMMONEST: Final = 30  # words of each list that are looked for: each list begins with its commonest words

_LISTS: Final = {
    "en": """
        the of and to in a that is for it be are was this with as have by on not we which our from all has or an will at
        but been their its they i his were should he so no more these would any such you my other may can had them than
        there only who what when if one do us also some upon must into now those being made most over your between
        against without every under up shall out her she him me about each same both through does did where how why then
        here very could might am having doing done cannot ought because since while although though unless until whether
        whereas lest nor neither either yet however thus therefore hence moreover furthermore otherwise instead perhaps
        indeed else again once twice never always often sometimes ever already still soon too quite rather almost just
        even well much many less least few fewer several enough little another none own mine yours hers ours theirs
        myself yourself himself herself itself ourselves yourselves themselves oneself whom whose whoever whatever
        whichever whenever wherever someone somebody something anyone anybody anything everyone everybody everything
        nobody nothing above across after along amid among amongst around before behind below beneath beside besides
        beyond despite down during except inside like near off onto outside past per regarding concerning throughout
        toward towards underneath via within whereby wherein whereof thereof therein thereby thereto thereafter
        therefrom hereby herein hereto heretofore hitherto hereafter ago together apart away back forth forward
        i'm i've i'll i'd it's we're we've we'll we'd that's let's there's they're they've they'll you're you've you'll
        he's she's who's what's here's don't doesn't didn't won't wouldn't can't couldn't isn't aren't wasn't weren't
        haven't hasn't hadn't shouldn't mustn't
    """,
    "de": """
        der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden aus er hat
        dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur oder aber vor zur bis
        mehr durch man sein wurde wenn ich wir ihr du mich uns ihn ihm ihnen mein unser euer dein ihre seine seiner
        seinen seinem ihrer ihren ihrem eines kein keine keinen keiner dieser diese dieses diesem diesen jener jene
        jenes welche welcher welches wer was wo wann warum hier da dort dann denn weil ob doch schon sehr immer nie
        wieder ohne gegen unter zwischen seit während trotz wegen hatte waren kann können muss müssen soll sollen will
        wollen darf dürfen mag hätte wäre würde worden gewesen alle alles viel viele wenig einige andere anderen
    """,
    "fr": """
        de la le et les des en un du une que est pour qui dans à par plus pas au sur ne se ce il sont avec son aux d'un
        cette d'une ont ses mais comme on tout nous sa fait été aussi leur bien peut ces y deux je tu elle vous ils
        elles me te lui eux mon ma mes ton ta tes notre nos votre vos leurs celui celle ceux celles cet dont où quand
        comment pourquoi si ou donc car ni sans sous entre vers chez contre depuis pendant avant après être avoir était
        étaient sera seront serait fut a ai as avons avez avait avaient aura eu très peu trop encore toujours jamais
        rien aucun aucune chaque plusieurs même mêmes autre autres ici là ainsi alors puis
    """,
    "es": """
        de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le ha me si sin sobre
        este ya entre cuando todo esta ser son dos también fue había era muy años hasta desde está mi porque qué sólo
        han yo hay vez puede todos así nos ni parte tiene él uno donde bien tiempo mismo ese ahora cada e vida otro
        después te otros aunque esa eso hace otra gobierno tan durante siempre ella nosotros ustedes ellos ellas les
        estos estas esos esas aquel aquella cual cuales quien quienes cuyo cuya mis tus nuestro nuestra nuestros
        nuestras algún alguna algunos algunas ningún ninguna nada nadie poco mucho muchos muchas
    """,
    "it": """
        di e il la che in un a per è una sono con non del si le da i dei come della gli al nel lo anche più alla se ma
        dal ha o delle su degli nella questo questa ci ne cui sul dalla suo sua suoi sue loro essere stato stata era
        erano io tu lui lei noi voi mi ti vi mio mia tuo nostro nostra vostro quello quella quelli quelle chi dove
        quando perché quindi però dopo prima senza tra fra contro verso molto poco tutto tutti tutte ogni altro altri
        altre già ancora sempre mai così hanno aveva avere può
    """,
    "nl": """
        de van het een en in is dat op te zijn met voor niet aan er die door als om ook bij uit naar dan maar was wordt
        over of nog tot ze hij we wij zij ik je u hun haar hem ons onze mijn uw dit deze zo wat wie waar wanneer waarom
        hoe al meer heeft hebben had kan kunnen moet moeten zal zullen worden werd geen wel zeer veel weinig alle elk
        ander andere tegen onder tussen zonder na toen omdat terwijl
    """,
    "pt": """
        de a que o e do da em um para com não uma os no se na por mais as dos como mas ao ele das à seu sua ou quando
        muito nos já eu também só pelo pela até isso ela entre era depois sem mesmo aos seus quem nas me esse eles está
        você tinha foram essa num nem suas meu às minha têm numa pelos elas qual nós lhe este dele há ser são foi tem
        sobre ainda todo todos cada outro outros
    """,
}  # fmt: skip

#: How the usual sets of tags call words of closed classes.
FUNCTION_TAGS: Final = frozenset({
    *("adp", "aux", "cconj", "conj", "det", "part", "pron", "prp", "prp$", "sconj"),  # Universal Dependencies
    *("at0", "cc", "dt", "dt0", "ex", "in", "md", "pdt", "pnp", "rp", "to", "wdt", "wp", "wp$", "wrb"),  # Penn, BNC
    *("appr", "apprart", "art", "kon", "kous", "pper", "pds", "pis", "ppos", "pposat", "prels", "ptkneg"),  # STTS
})  # fmt: skip
_NUMBER_WORDS: Final = """
    one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred hundreds thousand thousands million millions
    billion billions trillion trillions dozen dozens half halves quarter quarters thirds fourths fifths tenths
    first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth
    sixteenth seventeenth eighteenth nineteenth twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth
    ninetieth hundredth thousandth
"""
_NUMBERS: Final = frozenset(_NUMBER_WORDS.split())
#: Of these, words that mean much besides.
_AMBIGUOUS: Final = frozenset({"one", "second", "half", "quarter", "quarters"})


@lru_cache(maxsize=4)
def function_words(words: tuple[str, ...]) -> frozenset[str]:
    """Return the function words of the languages that a vocabulary, most frequent words first, is in."""
    shares = _shares_of_commonest(words)
    found = {word for code, share in shares.items() if share >= _LEAST_SHARE for word in _LISTS[code].split()}
    return frozenset(found.union(word for word in words if tagged(word)[1] in FUNCTION_TAGS))


def tagged(word: str) -> tuple[str, str]:
    """Return a word and its part of speech, where it is counted with one, such as walk_verb."""
    lemma, line, tag = word.rpartition("_")
    return (lemma, tag) if line and lemma else (word, "")


def language_of(words: Sequence[str]) -> str | None:
    """Return the language of a vocabulary, most frequent words first; None where it is none of those listed here."""
    shares = _shares_of_commonest(words)
    best = max(shares, key=lambda code: shares[code])
    return best if shares[best] >= _LEAST_SHARE else None


def _shares_of_commonest(words: Sequence[str]) -> dict[str, float]:
    """Return the share of the commonest words of each language that are frequent in a vocabulary."""
    frequent = set(words[:_MOST_FREQUENT])
    shares = {}
    for code, text in _LISTS.items():
        commonest = [word for word in text.split()[:_COMMONEST] if len(word) > 1]
        shares[code] = sum(word in frequent for word in commonest) / len(commonest)
    return shares


def is_number_word(word: str) -> bool:
    """Tell whether a word is a number or an ordinal in English letters, such as twenty-seventh."""
    return word not in _AMBIGUOUS and all(part in _NUMBERS for part in word.split("-"))
