"""Usual given names of European countries, by which names are distinguished from other words."""

from __future__ import annotations

GIVEN_NAMES = frozenset(
    """
    adam adrian agnes agnieszka alan albert alberto aleksander aleksandra alessandra alessandro
    alex alexander alexandra alexandre alice alicia alina amanda amelia amy ana anders andrea
    andreas andrew andrzej angela angelika anita anja ann anna anne annette annika anthony antoine
    antoni antonio arnaud arthur astrid audrey axel barbara bartosz beate beatrice beatriz ben
    benjamin bernard bernd bernhard bert betty bianca birgit bjorn bob brian brigitte bruno bruce
    camille carina carl carla carlos carmen carol carolina caroline catherine cecilia celine
    charles charlotte chiara chloe chris christa christian christina christine christoph
    christophe christopher clara claude claudia claudio concepcion cristina cynthia dagmar damian
    daniel daniela daniele daria dariusz david davide deborah denise dennis diana diego dieter
    dirk dominik dominique donald donna dorota dorothy eduardo edward edyta elena eleonora elisa
    elisabeth elizabeth elke ella elzbieta emil emilia emilie emily emma enrico enrique eric erica
    erik erika ernst ester eva evelyn ewa fabian fabio federica federico felix fernando filip
    filippo florian frances francesca francesco francisco francois francoise frank franz frederic
    frederik friedrich gabriel gabriela gabriele gary george georg gerald gerard gerd gerhard
    gertrud gianluca gina giorgia giorgio giovanna giovanni giulia giuseppe grace greg grazyna
    gregory greta grzegorz guido guillaume gunter gunther gustav hanna hannah hanne hans harald
    harry heather heidi heike heinrich heinz helen helena helene helga helmut hendrik henri henrik
    henry herbert hermann hilde holger horst hubert hugo ian ida ines inge ingrid irena irene iris
    isabel isabelle isabella ivan iwona jack jacek jacob jacqueline jacques jakob jakub james jan
    jana jane janet janina janusz jason javier jean jeff jeffrey jennifer jens jeremy jerzy
    jessica jesus jim joachim joan joanna johan johann johanna johannes john jolanta jonas
    jonathan jordi jorge jorg jose josef joseph joshua juan judith julia julian julie julien
    jurgen justyna kamil karen karin karl karolina katarzyna kate katharina katherine kathleen
    katja kazimierz keith kelly kenneth kerstin kevin kim klaus krystyna krzysztof lars laura
    lauren laurence laurent lea lena leo leon leonardo leonie lieselotte lina linda lisa lorenzo
    lotte louis louise luc luca lucas lucia lucie lucy luigi luis luisa lukas lukasz maciej magda
    magdalena maja malgorzata manfred manon manuel manuela marc marcel marcin marco marek margaret
    margarete maria marian marianne marie marina mario marion mariusz mark marta martha martin
    martina martine mary mateusz mathilde matteo matthew matthias maurice max maximilian melanie
    mia micha michael michal michel michele michelle miguel mike mikael mila miroslaw mohamed
    mohammed monica monika monique moritz nadine nancy natalia natalie nathalie nicholas nicola
    nicolas nicole niklas nils nina noah nora norbert olaf oliver olivia olivier oskar oscar pablo
    pamela paola paolo pascal patricia patrick patrik paul paula pauline pawel pedro peter petra
    philip philipp philippe pierre pietro pilar piotr rachel rafael rafal raimund rainer ralf
    ralph raquel raul rebecca regina reinhard renata renate renee ricardo riccardo richard rita
    robert roberta roberto robin rodolfo roger roland rolf roman ronald rosa rosemarie ruben
    rudolf ruth ryan ryszard sabine salvatore samantha samuel sandra sara sarah scott sebastian
    sergio sharon sigrid silke silvia simon simona simone sofia sofie sonia sonja sophia sophie
    stanislaw stefan stefania stefano steffen stephan stephanie stephen steve steven stuart susan
    susanna susanne sven sylvia sylvie tadeusz tanja tatjana teresa thea theo theresa thierry
    thomas tim timothy tobias tom tomasz torsten ulrich ulrike ursula ute uwe valentina valerie
    vanessa vera veronica veronika veronique victor victoria viktor viktoria vincent vincenzo
    virginie volker walter waltraud wanda werner wieslaw wiktor wilhelm willem william winfried
    witold wojciech wolfgang xavier yann yannick yves yvonne zbigniew zofia zoe stefanie jenny
    karsten kurt lothar siegfried liam charlie evie jordan wendy brenda diane judy carolyn joyce
    theodore larry raymond jerry harold douglas hendrika cornelis pieter jeroen maarten bas sander
    daan sem lieke fenna femke anouk sanne maud ruud joost bart jesse thijs stijn kees wouter ane
    gunnar gun birgitta margareta lennart bengt bo per olof karl-erik anna-karin ulla inger leif
    mats magnus hakan goran
    """.split()
)
